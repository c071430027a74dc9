"""Check the diagnosis of a QUIC sender's log beside the losses of the link that it crossed.

python3 check_qlog.py DIAGNOSIS.json SUMMARY.json
"""

import json
import pathlib
import sys

diagnosis, summary = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:])
sent = diagnosis["flows"][0]
up = next(link for link in summary["links"] if link["name"] == "up")
lost, found = up["overflow"] + up["channel"], len(sent["losses"])
if not 0.8 * lost <= found <= 1.2 * lost + 2:
    sys.exit(f"{found} losses in the log, {lost} on the link")
if any("acknowledgements of these packets" in limit for limit in sent["cannot_tell"]):
    sys.exit("the log has no acknowledgements")
