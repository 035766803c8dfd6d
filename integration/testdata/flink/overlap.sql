UPDATE mysql_sync_paimon SET data=CONCAT('overlap ',id) WHERE id%5=0;
DELETE FROM mysql_sync_paimon WHERE id%13=0;
INSERT INTO mysql_sync_paimon VALUES (100002,'n','2024-02-03');
UPDATE types SET tx='overlap' WHERE id IN (1,103);
DELETE FROM types WHERE id=8;
