import './styles/base.css'
import {getSession, takeCode} from './api/session.ts'

// The code leaves the address before anything else runs: no other module of the page has seen it.
const code = takeCode()

// The server is asked who is signed in while the application is loaded. What goes wrong is shown by the application.
const session = code ? null : getSession()
session?.catch(() => {})

const {start} = await import('./start.tsx')
start(code, session)
