import './styles/base.css'
import {getSession, takeCode} from './api/session.ts'

// The code is removed from the address before anything else runs, so no other module of the page
// sees it.
const code = takeCode()

// The session is requested while the application is loaded. The application shows any errors.
const session = code ? null : getSession()
session?.catch(() => {})

const {start} = await import('./start.tsx')
start(code, session)
