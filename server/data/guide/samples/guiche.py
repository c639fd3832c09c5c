"""guiche.py: calls the API, and repeats what failed on the way. It needs only the standard library."""

import json, os, time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL, KEY = os.environ["GUICHE_URL"].rstrip("/"), os.environ["GUICHE_KEY"]
ATTEMPTS, TIMEOUT_SECONDS, MAX_PAUSE_SECONDS = 8, 30, 30


class GuicheError(Exception):
    def __init__(self, code: str, text: str):
        super().__init__(f"{code}: {text}")
        self.code = code


def call(method: str, path: str, body=None, key=None) -> dict:
    """A POST is repeated only with a key of its own: the same key never makes a second deposit, refund or payout."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(1, ATTEMPTS + 1):
        pause, is_safe = min(2, 0.25 * 2**attempt), method != "POST" or key is not None
        try:
            with urlopen(Request(URL + path, data, headers, method=method), timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            code = error.headers.get("Guiche-Error", "unexpected_answer")
            failure = GuicheError(code, error.read().decode())
            pause = max(pause, min(MAX_PAUSE_SECONDS, int(error.headers.get("Retry-After", "0"))))
            is_transient = code == "in_flight" or (error.code >= 500 and code != "provider_refused")
            is_safe = error.code == 429 or (is_safe and is_transient)
        except (OSError, HTTPException) as error:
            failure = GuicheError("network", str(error))
        if not is_safe or attempt == ATTEMPTS:
            raise failure
        time.sleep(pause)
