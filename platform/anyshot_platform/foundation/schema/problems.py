"""What is wrong with a value that a model refuses, in words."""

from pydantic_core import ErrorDetails

from anyshot_platform.foundation.schema.parts import KEY_FORM


def no_number(found: str, kind: type[int] | type[float]) -> str:
    """What is said of a text where a number of this kind is wanted."""
    if kind is int:
        return f"This must be a whole number, not “{found[:40]}”."
    return f"This must be a number, not “{found[:40]}”."


def in_words(details: ErrorDetails) -> str:
    """Pydantic's kinds of error, as people say them: in forms, in answers of the API, in bundles."""
    found, limits = str(details["input"])[:40], details.get("ctx", {})
    match details["type"]:
        case "int_parsing" | "int_from_float" | "int_type":
            return no_number(found, int)
        case "float_parsing" | "float_type" | "finite_number":
            return no_number(found, float)
        case "greater_than":
            return f"This must be above {limits['gt']}, not “{found}”."
        case "greater_than_equal":
            return f"This must be at least {limits['ge']}, not “{found}”."
        case "less_than_equal":
            return f"This must be at most {limits['le']}, not “{found}”."
        case "enum" | "literal_error":
            return f"This must be one of {limits['expected']}, not “{found}”."
        case "string_too_long":
            return f"This must have at most {limits['max_length']} characters."
        case "string_too_short":
            return f"This must have at least {limits['min_length']} characters."
        case "too_long":
            return f"This must have at most {limits['max_length']} entries, not {limits['actual_length']}."
        case "string_pattern_mismatch" if limits["pattern"] == KEY_FORM:
            return f"Only small letters, digits and dashes can stand here, not “{found}”."
        case "string_pattern_mismatch":
            return f"“{found}” does not have the expected form."
        case "missing":
            return "A value is required."
        case "extra_forbidden" | "unexpected_keyword_argument":
            return "There is no such field."
        case "bool_parsing" | "bool_type":
            return f"This must be yes or no, not “{found}”."
        case "string_type":
            return f"This must be a text, not “{found}”."
        case "list_type" | "tuple_type" | "set_type":
            return f"This must be a list, not “{found}”."
        case "dict_type" | "model_type" | "model_attributes_type" | "dataclass_type":
            return f"This must be an object with fields, not “{found}”."
        case "json_invalid":
            return "This is not valid JSON."
        case kind if kind.startswith(("datetime_", "date_", "timezone_")):
            return f"This must be a date and time, not “{found}”."
        case _:
            error = limits.get("error")
            return str(error) if isinstance(error, ValueError) else str(details["msg"])
