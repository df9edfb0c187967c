"""What the tests of mutants import and no mutant changes: `judging` forks its processes from one that has it all."""

import importlib

MODULES = (
    "PIL.Image",
    "alembic.command",
    "argon2",
    "authlib.integrations.httpx_client",
    "boto3",
    "celery",
    "cryptography.hazmat.primitives.asymmetric.rsa",
    "docker",
    "fastapi.testclient",
    "jinja2",
    "markdown_it",
    "matplotlib.figure",
    "numpy",
    "prometheus_client",
    "pyarrow.parquet",
    "pydantic_settings",
    "reportlab.pdfgen.canvas",
    "requests",
    "rich.console",
    "scipy.stats",
    "selenium.webdriver",
    "sqlalchemy.orm",
    "yaml",
)

for name in MODULES:
    importlib.import_module(name)
