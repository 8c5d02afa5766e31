package bounded

import "gaugeblock/model"

// Keys are the keys of a state under all namings of streams, pools and threads.
func (m *keys) Keys(s *model.State) (all []string) {
	for i := range m.names {
		all = append(all, string(m.write(nil, s, &m.names[i])))
	}
	return all
}
