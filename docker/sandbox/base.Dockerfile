# The base of the sandbox image where a registry and a package index can be reached (without: `anyshot worker image build`
# makes the same files from Debian's packages alone). The context is made by `anyshot worker image context FOLDER`.
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN} AS packages
# For a CPU image the address of the CPU wheels, from PyTorch's installation page; empty for GPUs: the plain index's torch brings CUDA.
ARG TORCH_INDEX=""
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3-minimal python3-pip
COPY requirements.txt /tmp/
RUN python3 -m pip install --no-cache-dir --only-binary=:all: --target=/site \
    ${TORCH_INDEX:+--extra-index-url=${TORCH_INDEX}} --requirement=/tmp/requirements.txt

FROM ${DEBIAN}
ARG FLAVOUR=cpu
ARG KEY=registry
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-minimal libpython3-stdlib libgomp1 libstdc++6 zlib1g \
    g++ libpython3.11-dev \
 && rm -rf /var/lib/apt/lists /var/cache/apt /var/log/apt
COPY --from=packages /site /usr/local/lib/python3.11/dist-packages
COPY passwd group nsswitch.conf /etc/
COPY inventory.py /tmp/
RUN mkdir -p /work /in/a /in/b /weights /usr/share/anyshot \
 && python3 /tmp/inventory.py ${FLAVOUR} ${KEY} > /usr/share/anyshot/sbom.json
# Some packages carry templates that end in .py and do not compile: that is no error.
RUN python3 -m compileall -q /usr/local/lib/python3.11/dist-packages || true
# Last, and without a shell: take away shells, package tools and every set-user-id bit.
RUN ["python3", "-c", "import os, stat\nfor top, _, names in os.walk('/'):\n    if top.startswith(('/proc', '/sys', '/dev')):\n        continue\n    for name in names:\n        path = os.path.join(top, name)\n        mode = os.lstat(path).st_mode\n        if stat.S_ISREG(mode) and mode & 0o6000:\n            os.chmod(path, mode & 0o1777)\n        if name in ('sh', 'bash', 'dash', 'rbash', 'apt', 'apt-get', 'dpkg', 'inventory.py', 'perl') and not stat.S_ISDIR(mode):\n            os.remove(path)"]
LABEL org.anyshot.flavour=${FLAVOUR} org.anyshot.base=${KEY}
