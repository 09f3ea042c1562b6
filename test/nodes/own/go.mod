module drydock.dev/test/nodes/own

go 1.26.0
