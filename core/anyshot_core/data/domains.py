"""Which of Meta-Album's ten domains a dataset belongs to, where nobody says so."""

# Identifiers of the public Meta-Album datasets (https://meta-album.github.io, table of datasets), by domain.
_META_ALBUM = {
    "large animals": ("BRD", "DOG", "AWA"),
    "small animals": ("PLK", "INS_2", "INS"),
    "plants": ("FLW", "PLT_NET", "FNG"),
    "plant diseases": ("PLT_VIL", "MED_LF", "PLT_DOC"),
    "microscopy": ("BCT", "PNU", "PRT"),
    "remote sensing": ("RESISC", "RSICB", "RSD"),
    "vehicles": ("CRS", "APL", "BTS"),
    "manufacturing": ("TEX", "TEX_DTD", "TEX_ALOT"),
    "human actions": ("SPT", "ACT_40", "ACT_410"),
    "OCR": ("MD_MIX", "MD_5_BIS", "MD_6"),
}
_PREFIXES = {
    "LRG": "large animals",
    "LR_AM": "large animals",
    "SML": "small animals",
    "SM_AM": "small animals",
    "PLT": "plants",
    "DIS": "plant diseases",
    "PLT_DIS": "plant diseases",
    "MIC": "microscopy",
    "MCR": "microscopy",
    "REM": "remote sensing",
    "REM_SEN": "remote sensing",
    "VEH": "vehicles",
    "VCL": "vehicles",
    "MNF": "manufacturing",
    "ACT": "human actions",
    "HUM_ACT": "human actions",
    "OCR": "OCR",
}
_BY_ID = {identifier: domain for domain, names in _META_ALBUM.items() for identifier in names}


def meta_album_set(number: int) -> tuple[str, ...]:
    """Identifiers of Set-0, Set-1 or Set-2: one dataset of each domain."""
    return tuple(names[number] for names in _META_ALBUM.values())


def guess_domain(name: str) -> str:
    """Domain by Meta-Album's identifier, else by the longest known prefix of the name, else ''."""
    base = name.removesuffix("_Micro").removesuffix("_Mini").removesuffix("_Extended")
    if base in _BY_ID:
        return _BY_ID[base]
    fitting = [prefix for prefix in _PREFIXES if base.startswith(f"{prefix}_") or base == prefix]
    return _PREFIXES[max(fitting, key=len)] if fitting else ""
