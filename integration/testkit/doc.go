// Package testkit drives real things for the integration tests: MySQL and MariaDB servers, the sink as a process, Java Paimon
// (the oracle of integration/java) and pypaimon. Nothing is ever skipped: what the environment lacks is a fatal error.
//
//	db := testkit.MySQL(t).Database(t)            // a private database
//	db.Exec(`CREATE TABLE t (id INT PRIMARY KEY)`)
//	job := testkit.NewJob(t, db, "t")             // the sink's arguments and a private warehouse
//	p := job.Start()                              // a process
//	p.WaitCaughtUp()                              // by the saved position, without sleeping
//	p.Stop()
//	job.RequireSame()                             // both Java versions and pypaimon read what MySQL has
package testkit
