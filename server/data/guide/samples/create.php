<?php
require __DIR__ . '/guiche.php';

// Store the key with your own record before the first attempt.
$deposit = call('POST', '/api/deposit', ['value' => 1290, 'description' => 'Coffee'], key: 'cart-7b1f')['charge'];
echo $deposit['paymentLinkId'], ' ', $deposit['status'], "\n";
