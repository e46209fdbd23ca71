#!/usr/bin/env python3
"""A module for Rondo in another language, with nothing but the standard library.

It answers AI reviews: it receives ai_review.requested as server-sent events,
publishes ai_review.completed, and then acknowledges. Run as many of it as you
like; they share the work.

    RONDO_SERVER=http://127.0.0.1:3006 examples/module.py [NUMBER]

RONDO_TOKEN is a bearer token with the scope orchestrator:events (default: none is
sent). With NUMBER it ends after so many requests.
"""

import datetime
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

BASE = os.environ.get("RONDO_SERVER", "http://127.0.0.1:3006")
GROUP = os.environ.get("RONDO_GROUP", "ai-review-py")
REQUESTED, COMPLETED = "ai_review.requested", "ai_review.completed"


def request(path, body=None):
    """Opens one request; the caller reads the answer."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if os.environ.get("RONDO_TOKEN"):
        headers["Authorization"] = "Bearer " + os.environ["RONDO_TOKEN"]
    data = json.dumps(body).encode() if body is not None else None
    return urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers), timeout=45)


def events(stream):
    """Yields the data of every server-sent event; lines that begin with a colon are signs of life."""
    data = []
    for line in stream:
        line = line.decode().rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line == "" and data:
            yield json.loads("\n".join(data))
            data = []


def review(payload):
    """Does the work. A real module would ask its model here."""
    seen = len(payload["images"])
    return {"confidence": 0.91 if seen else 0.1, "diagnoses": [{"code": "D22.5"}] if seen else [], "raw_response_id": str(uuid.uuid4())}


def answer(asked):
    """The completed event: the ids of the request, and an event id that is the same however often it is answered."""
    return {
        "event_id": str(uuid.uuid5(uuid.UUID(asked["event_id"]), COMPLETED)),
        "event_type": COMPLETED,
        "schema_version": "v1",
        "occurred_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "correlation_id": asked["correlation_id"],
        "causation_id": asked["event_id"],
        "case_id": asked["case_id"],
        "org_id": asked["org_id"],
        "product_id": asked["product_id"],
        "payload": review(asked["payload"]),
    }


def work(most):
    """Answers requests from one stream until it ends, or until there were enough."""
    done = 0
    with request(f"/events/stream?group={GROUP}&types={REQUESTED}") as stream:
        for asked in events(stream):
            with request("/events", answer(asked)) as reply:
                outcome = json.load(reply)["outcome"]
            request("/events/acks", {"group": GROUP, "event_ids": [asked["event_id"]]}).close()
            print(asked["case_id"], outcome, flush=True)
            done += 1
            if done == most:
                break
    return done


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    done = 0
    while not most or done < most:
        try:
            done += work(most - done if most else 0)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as broken:
            print("the stream broke:", broken, file=sys.stderr)
            time.sleep(1)


if __name__ == "__main__":
    main()
