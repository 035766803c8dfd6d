// Package cdc is the source-neutral part of change data capture: change events, positions, and the pipeline that feeds the
// writer of one table and takes its checkpoints. cdc/mysql is a source.
package cdc
