package points

// Call returns a function that the source is about to call: a method of the driver, or a
// function of the program.
func Call[F any](f F, site string) F {
	point(Dynamic, site)
	return f
}
