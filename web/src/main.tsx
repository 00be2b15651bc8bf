import './styles/base.css'
import {takeCode} from './api/session.ts'

// The code leaves the address before anything else runs: no other module of the page has seen it.
const code = takeCode()

const {start} = await import('./start.tsx')
start(code)
