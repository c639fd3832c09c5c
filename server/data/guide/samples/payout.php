<?php
require __DIR__ . '/guiche.php';

$available = call('GET', '/api/balance')['available'];
$payout = call('POST', '/api/payouts', ['value' => 1000, 'note' => 'Week 5'], key: 'payout-week-5')['payout'];
echo $available, ' ', $payout['value'], ' ', $payout['status'], "\n";
