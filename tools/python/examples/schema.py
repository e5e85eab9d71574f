"""schema.py MODEL TEXT: reads facts out of a text, as JSON."""
import sys

import glinfer

schema = {"type": "object", "required": ["city", "capital"], "additionalProperties": False,
          "properties": {"city": {"type": "string", "maxLength": 20}, "capital": {"type": "boolean"}}}
model = glinfer.load(sys.argv[1])
facts = model.generate(f"{sys.argv[2]}\nAs JSON: ", json_schema=schema, n_predict=100).json()
print(facts["city"], "is a capital" if facts["capital"] else "is not a capital")
