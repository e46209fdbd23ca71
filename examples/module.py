#!/usr/bin/env python3
"""A module for Rondo in another language, with nothing but the standard library.

It answers AI reviews: it receives ai_review.requested as server-sent events,
publishes ai_review.completed or ai_review.failed, and then acknowledges. Run as
many of it as you like; they share the work. To make a module of your own, import
serve and Failure, or copy the file and change review and the last line.

    RONDO_SERVER=http://127.0.0.1:3006 examples/module.py [NUMBER]

RONDO_TOKEN is a bearer token with the scope orchestrator:events (default: none is
sent), RONDO_GROUP the consumer group. With NUMBER it ends after so many requests.
What it has read stays a consumer group on the bus; once you are done with it for
good, an admin retires it:

    rondo events retire-group http:demo:ai-review-py
"""

import datetime
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = os.environ.get("RONDO_SERVER", "http://127.0.0.1:3006")


class Failure(Exception):
    """Raised by a handler that cannot do its work; retryable = trying again may help."""

    def __init__(self, reason_code, message, retryable=False):
        super().__init__(message)
        self.payload = {"reason_code": reason_code, "retryable": retryable, "error": {"message": message}}


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


def answer(asked, handler):
    """The answer: the ids of the request, and an event id that is the same however often it is answered."""
    prefix = asked["event_type"].removesuffix(".requested")
    try:
        event_type, payload = prefix + ".completed", handler(asked["payload"])
    except Failure as failure:
        event_type, payload = prefix + ".failed", failure.payload
    return {
        "event_id": str(uuid.uuid5(uuid.UUID(asked["event_id"]), event_type)),
        "event_type": event_type,
        "schema_version": "v1",
        "occurred_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "correlation_id": asked["correlation_id"],
        "causation_id": asked["event_id"],
        "case_id": asked["case_id"],
        "org_id": asked["org_id"],
        "product_id": asked["product_id"],
        "payload": payload,
    }


def work(group, handlers):
    """Answers requests from one stream until it ends, and yields after each."""
    query = urllib.parse.urlencode({"group": group, "types": ",".join(handlers)})
    with request("/events/stream?" + query) as stream:
        for asked in events(stream):
            with request("/events", answer(asked, handlers[asked["event_type"]])) as reply:
                receipt = json.load(reply)
            request("/events/acks", {"group": group, "event_ids": [asked["event_id"]]}).close()
            print(asked["case_id"], receipt["outcome"], receipt["error"] or "", flush=True)
            yield


def explained(refusal):
    """What the server says of a request that it refuses."""
    try:
        problem = json.load(refusal)
    except ValueError:
        return str(refusal)
    findings = [found["pointer"] + " " + found["message"] for found in problem.get("errors") or []]
    words = [problem.get("detail"), *findings, problem.get("hint")]
    return f"{refusal.code}: " + "; ".join(word for word in words if word)


def serve(group, handlers, most=0):
    """Answers requests with handlers (event type to function of the payload), most of them or for ever."""
    done = 0
    while True:
        try:
            for _ in work(group, handlers):
                done += 1
                if done == most:
                    return
            continue
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500 and refusal.code != 429:
                sys.exit("refused, " + explained(refusal))  # asking again would not help
            print("not now,", explained(refusal), file=sys.stderr)
        except (OSError, http.client.IncompleteRead) as broken:
            print("the stream broke:", broken, file=sys.stderr)
        time.sleep(1)


def review(payload):
    """Does the work. A real module would ask its model here."""
    if not payload["images"]:
        raise Failure("image_quality", "there is no image to look at")
    return {"confidence": 0.91, "diagnoses": [{"code": "D22.5"}], "raw_response_id": str(uuid.uuid4())}


if __name__ == "__main__":
    serve(os.environ.get("RONDO_GROUP", "ai-review-py"), {"ai_review.requested": review}, int((sys.argv + ["0"])[1]))
