from guiche import call

for deposit in call("GET", "/api/orders/order-1042")["deposits"]:
    full = call("GET", f"/api/deposits/{deposit['paymentLinkId']}")["deposit"]
    for held in full["heldPayments"]:
        print(held["value"], held["reason"], held["decision"] or "under review")
