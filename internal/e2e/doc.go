// Package e2e tells the whole service's stories over real HTTP: what an operator
// and a partner do in the course of a license's life, how a buyer comes to an
// application in a real browser and what standard clients make of it, what a
// developer does with `claviger dev`, what a machine does that loses power, and what
// partners are told while nodes are killed, the database goes away or another partner
// hangs. The files of deploy/ are built, run and checked here, too. It holds tests only;
// what a single package promises is tested there.
package e2e
