#!/bin/sh
# Creates a definition from a file (JSON, JSON with comments, or YAML), publishes
# it, and prints what became of it.
#
#   examples/define.sh FILE [PRODUCT]
#
# Without PRODUCT it serves every product of the organisation that has none of its
# own. RONDO_SERVER is the server (default http://127.0.0.1:3006), RONDO_TOKEN a bearer
# token (default: none is sent).
set -eu
if [ $# -lt 1 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
# The file becomes one JSON string.
source=$(awk '{gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); printf "%s\\n", $0}' "$1")
product=${2:+"\"product_id\": \"$2\", "}
server=${RONDO_SERVER:-http://127.0.0.1:3006}
set -- --silent --show-error --fail-with-body -H 'Content-Type: application/json'
if [ -n "${RONDO_TOKEN:-}" ]; then
  set -- "$@" -H "Authorization: Bearer $RONDO_TOKEN"
fi
draft=$(curl "$@" "$server/workflow-definitions" --data-binary "{$product\"definition\": \"$source\"}") || {
  echo "$draft"
  exit 1
}
id=$(echo "$draft" | sed 's/^{"id":"\([^"]*\)".*/\1/')
curl "$@" -X POST "$server/workflow-definitions/$id/publish"
