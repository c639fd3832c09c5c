import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

PREFIX, TOLERANCE_SECONDS, MAX_BODY_BYTES = "whsec_", 300, 64 * 1024
SECRET = os.environ["WEBHOOK_SECRET"]
if not SECRET.startswith(PREFIX) or SECRET == PREFIX:
    raise SystemExit("WEBHOOK_SECRET must be the whsec_… that guiche showed")
KEY = base64.b64decode(SECRET[len(PREFIX):], validate=True)
seen = set()  # In production: a table with a unique column, so that a restart forgets nothing.


def verify(body: bytes, headers) -> dict:
    msg_id, timestamp, signatures = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not msg_id or "." in msg_id or not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise ValueError("a header is missing, or the message is old")
    digest = hmac.new(KEY, f"{msg_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    if not any(hmac.compare_digest(expected, given.encode()) for given in signatures.split(" ")):
        raise ValueError("no signature matches")
    return json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            length = int(self.headers.get("content-length", "0"))
            if not 0 <= length <= MAX_BODY_BYTES:
                raise ValueError("the body is too large")
            event = verify(self.rfile.read(length), self.headers)
        except ValueError:
            self.send_response(400)
        else:
            if self.headers["webhook-id"] not in seen and event["event"] == "DEPOSIT_ASSET_SUCCESS":
                print(event["data"]["creditedValue"], "cents credited", flush=True)
            seen.add(self.headers["webhook-id"])
            self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3001"))), Receiver).serve_forever()
