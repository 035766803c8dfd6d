// Package mysql reads tables of MySQL and MariaDB.
//
// The decoding half turns bytes from the server into columns of a Paimon table. A Column tells what
// information_schema knows of a source column; PaimonType maps it; ParseTableMap and ParseRows read the events of the
// binlog; a Decoder, compiled once for a table and a target type, appends row images and rows of prepared SELECTs to a
// row.Batch, with the same answer for the same value.
package mysql
