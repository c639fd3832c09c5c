from guiche import call

# Store the key with your own record before the first attempt.
deposit = call("POST", "/api/deposit", {"value": 1290, "description": "Coffee"}, key="cart-7b1f")["charge"]
print(deposit["paymentLinkId"], deposit["status"])
