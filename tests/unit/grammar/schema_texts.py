"""What the tests of schemas share: JSON with exact numbers, and schema_walk, which writes and matches texts."""
import datetime
import json
import re
import subprocess
import sys
from decimal import Decimal

try:
    import jsonschema
except ImportError:
    print("there is no PyPI jsonschema")
    sys.exit(77)

UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
CHECKER = jsonschema.FormatChecker()
CHECKER.checkers = {name: (lambda text, check=check: not isinstance(text, str) or bool(check(text)), ValueError) for name, check in {
    "date": datetime.date.fromisoformat,
    "time": lambda text: datetime.datetime.fromisoformat("2000-01-01T" + text.replace("Z", "+00:00")),
    "date-time": lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")),
    "uuid": UUID.fullmatch,
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[a-z]+").fullmatch,
    "uri": re.compile(r"(https?://[^/\s]|file:///|urn:)\S*").fullmatch,
    "duration": re.compile(r"P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!$)(\d+H)?(\d+M)?(\d+S)?)?)").fullmatch}.items()}


def exact(text):
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number.adjusted()) < 400 else number


def load(text, parse_float=Decimal):
    """Reads JSON; fractions stay decimal, as they are written."""
    return json.loads(text, parse_float=parse_float)


def dump(value, ascii_only=False):
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(json.dumps(name, ensure_ascii=ascii_only) + ": " + dump(one, ascii_only) for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dump(one, ascii_only) for one in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def unescape(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def error_of(schema, text):
    """Returns why a text is not what a schema allows, None if it is, or if Python does not know its patterns."""
    try:
        is_old = '"items": [' in dump(schema)
        validator = jsonschema.Draft7Validator if is_old else jsonschema.Draft202012Validator
        validator(schema, format_checker=CHECKER).validate(load(text, exact))
    except (ValueError, jsonschema.ValidationError) as error:
        return str(error).splitlines()[0]
    except re.error:
        pass
    return None


class Result:
    def __init__(self):
        self.refused = None  # the sentence
        self.texts = []  # that the grammar wrote
        self.answers = []  # whether it allows the texts that were asked for


def walk(program, questions, walks, seed=17):
    """Compiles the schema of each (schema as text, texts) and returns a Result for each."""
    lines = "".join(schema + "\n" + "".join("=" + text + "\n" for text in texts) for schema, texts in questions)
    run = subprocess.run([program, str(walks), str(seed)], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    results = [Result() for _ in questions]
    for line in run.stdout.decode("utf-8").split("\n"):
        if not line:
            continue
        number, text = line.split(" ", 1)
        result = results[int(number)]
        if text.startswith("refused: "):
            result.refused = text[9:]
        elif text.startswith("failed"):
            raise ValueError(f"{questions[int(number)][0]}: {text}")
        elif text.startswith("= "):
            result.answers.append(text == "= yes")
        elif text != "stuck":
            result.texts.append(unescape(text))
    return results
