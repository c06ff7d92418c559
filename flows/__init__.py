from flows.logs import follow

follow()
