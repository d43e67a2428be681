package simulator

// Wait waits until no run is under way on this node.
func (s *Simulator) Wait() { s.running.Wait() }
