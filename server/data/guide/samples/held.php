<?php
require __DIR__ . '/guiche.php';

foreach (call('GET', '/api/orders/order-1042')['deposits'] as $deposit) {
    $full = call('GET', "/api/deposits/{$deposit['paymentLinkId']}")['deposit'];
    foreach ($full['heldPayments'] as $held) {
        echo $held['value'], ' ', $held['reason'], ' ', $held['decision'] ?? 'under review', "\n";
    }
}
