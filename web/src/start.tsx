import {QueryClient, QueryClientProvider} from '@tanstack/react-query'
import {StrictMode} from 'react'
import {createRoot} from 'react-dom/client'
import {Router} from 'wouter'
import {App} from './App.tsx'
import {base} from './api/base.ts'
import {ApiError} from './api/client.ts'
import type {Arrival} from './api/session.ts'
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

// start renders the page. code is the one-time code of the address, or '', and arrival what became of
// it.
export function start(code: string, arrival: Promise<Arrival>): void {
  applyTheme()
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={base} aroundNav={aroundNav}>
          <App code={code} arrival={arrival} />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
}
