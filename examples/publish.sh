#!/bin/sh
# Publishes one event to Rondo and prints what became of it.
#
#   examples/publish.sh TYPE CASE PRODUCT [PAYLOAD] [CORRELATION_ID] [EVENT_ID]
#
# RONDO_SERVER is the server (default http://127.0.0.1:3006), RONDO_ORG the organisation
# (default demo), RONDO_TOKEN a bearer token (default: none is sent).
set -eu
if [ $# -lt 3 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
uuid() { cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen | tr 'A-Z' 'a-z'; }
event_id=${6:-$(uuid)}
body=$(cat <<EOF
{"event_id": "$event_id", "event_type": "$1", "schema_version": "v1",
 "occurred_at": "$(date -u +%Y-%m-%dT%H:%M:%SZ)", "correlation_id": "${5:-$event_id}",
 "case_id": "$2", "org_id": "${RONDO_ORG:-demo}", "product_id": "$3", "payload": ${4:-"{}"}}
EOF
)
set -- --silent --show-error --fail-with-body -H 'Content-Type: application/json'
if [ -n "${RONDO_TOKEN:-}" ]; then
  set -- "$@" -H "Authorization: Bearer $RONDO_TOKEN"
fi
curl "$@" "${RONDO_SERVER:-http://127.0.0.1:3006}/events" --data-binary "$body"
