<?php
require __DIR__ . '/guiche.php';

$cursor = '0'; // the one that you stored; 0 is the beginning
do {
    $page = call('GET', "/api/events?after=$cursor&limit=100");
    foreach ($page['events'] as $event) echo $event['position'], ' ', $event['event'], "\n";
    $cursor = $page['next']; // store it, in the transaction of your work
} while (!$page['done']);
