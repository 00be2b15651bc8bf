#!/bin/sh
# A client in curl: stores a workflow, starts a run, reads what a person has to decide, decides, and watches the run to its end.
# HOCKET is the address of a server, HOCKET_TOKEN a token of the role edit with the right to approve.
set -eu
cd "$(dirname "$0")"

api() { curl -sS --fail-with-body -H "Authorization: Bearer $HOCKET_TOKEN" -H 'Content-Type: application/json' "$@"; }

# A definition is the text of a document, as a string of JSON.
text=$(sed 's/\\/\\\\/g; s/"/\\"/g' post.json | tr -d '\n')
api -X PUT "$HOCKET/api/v1/workflows/post" -d "{\"document\": \"$text\"}" > /dev/null

# With a key of its own the request can be repeated after a lost connection: it gives the same run.
run=$(api "$HOCKET/api/v1/runs?wait=30s" -H "Idempotency-Key: ${1:-first}" -d '{"workflow": "post", "input": "bees"}' | sed 's/^{"id":"\([^"]*\)".*/\1/')
echo "run $run waits"

api "$HOCKET/api/v1/waits?workflow=post" | sed 's/.*"prompt":"\([^"]*\)".*/asked: \1/'
api "$HOCKET/api/v1/runs/$run/resume?wait=30s" -d '{"decision": "reject", "note": "more about sleep"}' > /dev/null
api "$HOCKET/api/v1/runs/$run/resume?wait=30s" -d '{"decision": "approve"}' > /dev/null

# The stream gives what was, then what happens, and ends with the run.
api -N -H 'Accept: text/event-stream' "$HOCKET/api/v1/runs/$run/events?types=step.completed" | sed -n 's/^data: .*"output":"\([^"]*\)".*/step: \1/p'
