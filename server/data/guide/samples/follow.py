"""Credits each paid deposit exactly once: GUICHE_URL=https://… GUICHE_KEY=gk_test_… python3 follow.py shop.db"""

import json, os, random, sqlite3, sys, time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL, KEY = os.environ["GUICHE_URL"].rstrip("/"), os.environ["GUICHE_KEY"]
WAIT_SECONDS, TIMEOUT_SECONDS, MAX_PAUSE_SECONDS = 25, 40, 30

db = sqlite3.connect(sys.argv[1] if len(sys.argv) > 1 else "shop.db")
with db:
    db.execute("create table if not exists credits (transaction_id text primary key, cents integer not null)")
    db.execute("create table if not exists followed (one integer primary key, cursor text not null, position integer not null)")
    db.execute("insert or ignore into followed values (1, '0', 0)")


def read_after(cursor: str) -> dict:
    """Waits for the next events. Repeats the request until the service answers."""
    path, pause = f"/api/events?after={cursor}&limit=100&wait={WAIT_SECONDS}", 1.0
    while True:
        try:
            with urlopen(Request(URL + path, headers={"Authorization": f"Bearer {KEY}"}), timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (408, 429) and error.code < 500:
                # Among them history_changed: the service was restored from a backup that lacks this cursor.
                raise SystemExit(f"{error.headers.get('Guiche-Error', 'unexpected_answer')}: {error.read().decode()}")
            pause = max(pause, min(MAX_PAUSE_SECONDS, int(error.headers.get("Retry-After", "0"))))
        except (OSError, HTTPException) as error:
            print(f"network: {error}, trying again", file=sys.stderr)
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(MAX_PAUSE_SECONDS, pause * 2)


def handle(event: dict, cursor: str) -> None:
    position = event["position"]
    # The place and the work are in one transaction: after a crash either both are there, or neither.
    with db:
        # Positions have no gap. If this changes no row, another copy of this program has done the work.
        moved = db.execute("update followed set cursor = ?, position = ? where position = ?", (cursor, position, position - 1))
        if moved.rowcount == 1 and event["event"] == "DEPOSIT_ASSET_SUCCESS":
            paid = event["data"]
            db.execute("insert or ignore into credits values (?, ?)", (paid["transactionId"], paid["creditedValue"]))
            print(paid["creditedValue"], "cents credited", flush=True)


while True:
    page = read_after(db.execute("select cursor from followed").fetchone()[0])
    for event in page["events"]:
        handle(event, f"{page['historyId']}.{event['position']}")
