<?php
require __DIR__ . '/guiche.php';

$deposit = call('PUT', '/api/orders/order-1042/deposit', ['value' => 5000])['deposit'];
echo $deposit['status'], ' ', $deposit['paymentLinkUrl'], "\n";
