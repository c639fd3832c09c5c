from guiche import call

cursor, done = "0", False  # the one that you stored; 0 is the beginning
while not done:
    page = call("GET", f"/api/events?after={cursor}&limit=100")
    for event in page["events"]:
        print(event["position"], event["event"])
    cursor, done = page["next"], page["done"]  # store the cursor, in the transaction of your work
