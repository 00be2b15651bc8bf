import {QueryClient, QueryClientProvider} from '@tanstack/react-query'
import {StrictMode} from 'react'
import {createRoot} from 'react-dom/client'
import {Router} from 'wouter'
import {App} from './App.tsx'
import {base} from './api/base.ts'
import {ApiError} from './api/client.ts'
import type {Session} from './api/session.ts'
import {aroundNav} from './shell/leave.ts'
import {applyTheme} from './shell/theme.ts'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      retry: (n, err) => n < 2 && (!(err instanceof ApiError) || err.status === 0 || err.status >= 500),
      retryDelay: 500,
    },
  },
})

// start renders the page. code is a one-time code with which to sign in; if it is '', session is
// the session.
export function start(code: string, session: Promise<Session | null> | null): void {
  applyTheme()
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={base} aroundNav={aroundNav}>
          <App code={code} asked={session} />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
}
