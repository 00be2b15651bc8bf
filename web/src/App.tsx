import {useQueryClient} from '@tanstack/react-query'
import {lazy, Suspense, useCallback, useEffect, useRef, useState} from 'react'
import {Route, Switch, useLocation} from 'wouter'
import {onSignedOut} from './api/client.ts'
import {type Arrival, arrive, type Session} from './api/session.ts'
import {useFeed} from './live/use_feed.ts'
import {Home} from './pages/Home.tsx'
import {InboxPage} from './pages/Inbox.tsx'
import {NotFound} from './pages/NotFound.tsx'
import {RunsPage} from './pages/Runs.tsx'
import {Confirm, SignIn} from './pages/SignIn.tsx'
import {WorkflowPage} from './pages/Workflow.tsx'
import {WorkflowsPage} from './pages/Workflows.tsx'
import {Shell} from './shell/Shell.tsx'
import {SessionContext} from './shell/session.ts'
import {Guard} from './ui/Guard.tsx'
import {ErrorBox, Loading} from './ui/parts.tsx'

const runPage = () => import('./pages/Run.tsx')
const RunPage = lazy(() => runPage().then(m => ({default: m.RunPage})))
const ComparePage = lazy(() => import('./pages/Compare.tsx').then(m => ({default: m.ComparePage})))
const WaitPage = lazy(() => import('./pages/Wait.tsx').then(m => ({default: m.WaitPage})))
const SchedulesPage = lazy(() => import('./pages/Schedules.tsx').then(m => ({default: m.SchedulesPage})))
const VersionsPage = lazy(() => import('./versions/VersionsPage.tsx'))
const editPage = () => import('./edit/EditPage.tsx')
const EditPage = lazy(editPage)

type State =
  | {at: 'asking'}
  | {at: 'out'}
  | {at: 'in'; session: Session}
  | {at: 'confirming'; session: Session | null; code: string}
  | {at: 'error'; error: unknown}

// early lists the pages with most of the code. They are loaded while the server is asked who is
// signed in.
const early: [RegExp, () => Promise<unknown>][] = [
  [/\/runs\/[^/]+$/, runPage],
  [/\/workflows\/[^/]+\/edit$/, editPage],
]
// the page itself shows the error
for (const [at, load] of early) if (at.test(window.location.pathname)) load().catch(() => {})

// App shows the page to the signed-in user, once they have signed in. arrival is what became of code,
// the code of the address.
export function App({code, arrival}: {code: string; arrival: Promise<Arrival>}) {
  const [state, setState] = useState<State>({at: 'asking'})
  const queries = useQueryClient()
  const begun = useRef(false)
  const begin = useCallback(async (arrival: Promise<Arrival>) => {
    try {
      const {session, code} = await arrival
      if (code) setState({at: 'confirming', session, code})
      else setState(session ? {at: 'in', session} : {at: 'out'})
    } catch (error) {
      setState({at: 'error', error})
    }
  }, [])
  useEffect(() => {
    if (begun.current) return
    begun.current = true
    void begin(arrival)
  }, [arrival, begin])
  const leave = useCallback(() => {
    queries.clear()
    setState({at: 'out'})
  }, [queries])
  useEffect(() => onSignedOut(leave), [leave])

  switch (state.at) {
    case 'asking':
      return <Loading what="the page" />
    case 'error':
      return <ErrorBox error={state.error} again={() => void begin(arrive(code))} />
    case 'out':
      return <SignIn done={session => setState({at: 'in', session})} />
    case 'confirming':
      return (
        <Confirm
          session={state.session}
          code={state.code}
          done={session => setState(session ? {at: 'in', session} : {at: 'out'})}
        />
      )
    case 'in':
      return (
        <SessionContext.Provider value={state.session}>
          <Inside leave={leave} />
        </SessionContext.Provider>
      )
  }
}

function Inside({leave}: {leave: () => void}) {
  const feed = useFeed()
  return (
    <Shell feed={feed} leave={leave}>
      <Guard key={useLocation()[0]}>
        <Suspense fallback={<Loading what="the page" />}>
          <Switch>
            <Route path="/" component={Home} />
            <Route path="/runs" component={RunsPage} />
            <Route path="/runs/:left/compare/:right">
              {p => <ComparePage key={p.left + p.right} left={p.left} right={p.right} />}
            </Route>
            <Route path="/runs/:id">{p => <RunPage key={p.id} id={p.id} />}</Route>
            <Route path="/inbox" component={InboxPage} />
            <Route path="/inbox/:run/:wait">{p => <WaitPage key={p.run + p.wait} run={p.run} wait={p.wait} />}</Route>
            <Route path="/workflows" component={WorkflowsPage} />
            <Route path="/schedules" component={SchedulesPage} />
            <Route path="/workflows/:id/versions">{p => <VersionsPage key={p.id} id={p.id} />}</Route>
            <Route path="/workflows/:id/edit">{p => <EditPage key={p.id} id={p.id} />}</Route>
            <Route path="/workflows/:id">{p => <WorkflowPage key={p.id} id={p.id} />}</Route>
            <Route component={NotFound} />
          </Switch>
        </Suspense>
      </Guard>
    </Shell>
  )
}
