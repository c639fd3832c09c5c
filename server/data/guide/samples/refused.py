from guiche import GuicheError, call

try:
    call("PUT", "/api/orders/order-1042/deposit", {"value": 9900})
except GuicheError as error:
    if error.code != "order_paid":
        raise
    print(error.code)
