"""Asks for the deposit of an order and waits until it is paid: GUICHE_URL=https://… GUICHE_KEY=gk_test_… python3 deposit.py order-1042"""

import json, os, random, sys, time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

URL, KEY = os.environ["GUICHE_URL"].rstrip("/"), os.environ["GUICHE_KEY"]
ATTEMPTS, TIMEOUT_SECONDS, WAIT_SECONDS, MAX_PAUSE_SECONDS = 10, 30, 3660, 15


def call(method: str, path: str, body=None) -> dict:
    """Repeats what failed on the way. GET and PUT change nothing when they are repeated; a POST would need a key for that."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(1, ATTEMPTS + 1):
        pause = min(2, 0.5 * 2**attempt) * random.uniform(0.5, 1)
        try:
            with urlopen(Request(URL + path, data, headers, method=method), timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            code = error.headers.get("Guiche-Error", "unexpected_answer")
            is_transient = error.code == 429 or code == "in_flight" or (error.code >= 500 and code != "provider_refused")
            if not is_transient or attempt == ATTEMPTS:
                raise SystemExit(f"{code}: {error.read().decode()}")
            pause = max(pause, min(30, int(error.headers.get("Retry-After", "0"))))
        except (OSError, HTTPException) as error:
            if attempt == ATTEMPTS:
                raise SystemExit(f"network: {error}")
        time.sleep(pause)


def wait_until_paid(payment_link_id: str) -> dict:
    deadline, pause = time.monotonic() + WAIT_SECONDS, 1.0
    while time.monotonic() < deadline:
        deposit = call("GET", f"/api/deposits/{payment_link_id}")["deposit"]
        if deposit["status"] == "COMPLETED":
            return deposit
        if deposit["heldValue"] > 0:
            raise SystemExit(f"payment_held: {deposit['heldValue']} cents were paid and are held")
        if deposit["status"] != "PENDING":
            raise SystemExit(f"not_paid: the charge is {deposit['status']}")
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(MAX_PAUSE_SECONDS, pause * 1.3)
    raise SystemExit("timeout: the charge was not paid in time")


order = sys.argv[1] if len(sys.argv) > 1 else "order-1042"
# The one deposit of this order. Repeat it as often as you like: it never makes a second one that could be paid.
deposit = call("PUT", f"/api/orders/{quote(order, safe='')}/deposit", {"value": 5000})["deposit"]
if deposit["status"] == "PENDING":
    print("Pay with this code:", deposit["emv"], flush=True)
paid = wait_until_paid(deposit["paymentLinkId"])
print(paid["creditedValue"], "cents credited")
