"""What is wrong with a value that a model refuses, in words."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from anyshot_platform.described.parts import KEY_FORM
from anyshot_platform.kernel.language import say


def in_words(details: ErrorDetails) -> str:
    """Pydantic's kinds of error, as people say them: in forms, in answers of the API, in bundles."""
    found, limits = str(details["input"])[:40], details.get("ctx", {})
    match details["type"]:
        case "int_parsing" | "int_from_float" | "int_type":
            return say("A whole number is wanted, found “%(found)s”.", found=found)
        case "float_parsing" | "float_type" | "finite_number":
            return say("A number is wanted, found “%(found)s”.", found=found)
        case "greater_than":
            return say(
                "A number above %(least)s is wanted, found “%(found)s”.", least=limits["gt"], found=found
            )
        case "greater_than_equal":
            return say("At least %(least)s is wanted, found “%(found)s”.", least=limits["ge"], found=found)
        case "less_than_equal":
            return say("At most %(most)s is wanted, found “%(found)s”.", most=limits["le"], found=found)
        case "enum" | "literal_error":
            return say(
                "One of %(known)s is wanted, found “%(found)s”.", known=limits["expected"], found=found
            )
        case "string_too_long":
            return say("At most %(most)s characters are wanted.", most=limits["max_length"])
        case "string_too_short":
            return say("At least %(least)s characters are wanted.", least=limits["min_length"])
        case "too_long":
            return say(
                "At most %(most)s are wanted, found %(found)s.",
                most=limits["max_length"],
                found=limits["actual_length"],
            )
        case "string_pattern_mismatch" if limits["pattern"] == KEY_FORM:
            return say("Small letters, digits and dashes are wanted, found “%(found)s”.", found=found)
        case "string_pattern_mismatch":
            return say("“%(found)s” is not written as it should be.", found=found)
        case "missing":
            return say("It is needed.")
        case "extra_forbidden":
            return say("There is no such field.")
        case "bool_parsing" | "bool_type":
            return say("Yes or no is wanted, found “%(found)s”.", found=found)
        case "string_type":
            return say("A text is wanted, found “%(found)s”.", found=found)
        case "list_type" | "tuple_type" | "set_type":
            return say("A list is wanted, found “%(found)s”.", found=found)
        case "dict_type" | "model_type" | "model_attributes_type":
            return say("An object with fields is wanted, found “%(found)s”.", found=found)
        case "json_invalid":
            return say("It is no JSON.")
        case kind if kind.startswith(("datetime_", "date_", "timezone_")):
            return say("A date and time is wanted, found “%(found)s”.", found=found)
        case _:
            return str(details["msg"]).removeprefix("Value error, ")
