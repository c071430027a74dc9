"""Check that scenario files conform to the schema, and that the schema rejects invalid ones.

python3 check_schema.py SCHEMA DIRECTORY
"""

import json
import pathlib
import sys

import jsonschema
import tomllib

schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
jsonschema.Draft7Validator.check_schema(schema)
check = jsonschema.Draft7Validator(schema)
files = sorted(pathlib.Path(sys.argv[2]).glob("*.toml"))
assert len(files) >= 8
for file in files:
    scenario = tomllib.loads(file.read_text())
    check.validate(scenario)
    # The schema must reject an unknown key and a quantity without its unit.
    assert not check.is_valid({**scenario, "colour": 1}), file
    assert not check.is_valid({**scenario, "duration": 10}), file
    # A channel has two notations. Neither of these tables is complete in one of them.
    for channel in ("gilbert-elliott", {"kind": "gilbert-elliott", "loss": 0.1}):
        link = {**scenario["link"][0], "channel": channel}
        assert not check.is_valid({**scenario, "link": [link]}), file
print(len(files), "scenario files conform")
