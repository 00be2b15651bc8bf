import './styles/base.css'
import {arrive, takeCode} from './api/session.ts'

// The code is removed from the address before anything else runs, so no other module of the page
// sees it.
const code = takeCode()

// The server is asked while the application is loaded. The application shows any errors.
const arrival = arrive(code)
arrival.catch(() => {})

const {start} = await import('./start.tsx')
start(code, arrival)
