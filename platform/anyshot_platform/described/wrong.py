"""What is wrong with a value that a model refuses, in words."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from anyshot_platform.described.parts import KEY_FORM
from anyshot_platform.kernel.language import Said, say, words_of


def no_number(found: str, kind: type[int] | type[float]) -> Said:
    """What is said of a text where a number of this kind is wanted."""
    if kind is int:
        return say("This must be a whole number, not “%(found)s”.", found=found[:40])
    return say("This must be a number, not “%(found)s”.", found=found[:40])


def in_words(details: ErrorDetails) -> str:
    """Pydantic's kinds of error, as people say them: in forms, in answers of the API, in bundles."""
    found, limits = str(details["input"])[:40], details.get("ctx", {})
    match details["type"]:
        case "int_parsing" | "int_from_float" | "int_type":
            return no_number(found, int)
        case "float_parsing" | "float_type" | "finite_number":
            return no_number(found, float)
        case "greater_than":
            return say("This must be above %(least)s, not “%(found)s”.", least=limits["gt"], found=found)
        case "greater_than_equal":
            return say("This must be at least %(least)s, not “%(found)s”.", least=limits["ge"], found=found)
        case "less_than_equal":
            return say("This must be at most %(most)s, not “%(found)s”.", most=limits["le"], found=found)
        case "enum" | "literal_error":
            return say(
                "This must be one of %(known)s, not “%(found)s”.", known=limits["expected"], found=found
            )
        case "string_too_long":
            return say("This must have at most %(most)s characters.", most=limits["max_length"])
        case "string_too_short":
            return say("This must have at least %(least)s characters.", least=limits["min_length"])
        case "too_long":
            return say(
                "This must have at most %(most)s entries, not %(found)s.",
                most=limits["max_length"],
                found=limits["actual_length"],
            )
        case "string_pattern_mismatch" if limits["pattern"] == KEY_FORM:
            return say("Only small letters, digits and dashes can stand here, not “%(found)s”.", found=found)
        case "string_pattern_mismatch":
            return say("“%(found)s” does not have the expected form.", found=found)
        case "missing":
            return say("A value is required.")
        case "extra_forbidden":
            return say("There is no such field.")
        case "bool_parsing" | "bool_type":
            return say("This must be yes or no, not “%(found)s”.", found=found)
        case "string_type":
            return say("This must be a text, not “%(found)s”.", found=found)
        case "list_type" | "tuple_type" | "set_type":
            return say("This must be a list, not “%(found)s”.", found=found)
        case "dict_type" | "model_type" | "model_attributes_type":
            return say("This must be an object with fields, not “%(found)s”.", found=found)
        case "json_invalid":
            return say("This is not valid JSON.")
        case kind if kind.startswith(("datetime_", "date_", "timezone_")):
            return say("This must be a date and time, not “%(found)s”.", found=found)
        case _:
            error = limits.get("error")
            return words_of(error) if isinstance(error, ValueError) else str(details["msg"])
