import {lazy, Suspense} from 'react'
import {useLocation, useSearch} from 'wouter'
import {useRun} from '../live/use_run.ts'
import {ContextTab, TrailTab} from '../run/Answers.tsx'
import {useDefinition} from '../run/definition.ts'
import {EventsTab} from '../run/EventsTab.tsx'
import {LogTab} from '../run/LogTab.tsx'
import {RunHeader} from '../run/RunHeader.tsx'
import {StepsTab} from '../run/StepsTab.tsx'
import {Timeline} from '../run/Timeline.tsx'
import {ErrorBox, Loading} from '../ui/parts.tsx'
import {Tabs} from '../ui/Tabs.tsx'
import styles from './Run.module.css'

const GraphTab = lazy(() => import('../run/GraphTab.tsx'))

// place is where in a run the page is; it stands in the address.
export type Place = {tab: string; step: number; set: (to: {tab?: string; step?: number | null}) => void}

function usePlace(id: string): Place {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  return {
    tab: search.get('tab') ?? 'graph',
    step: Number(search.get('step') ?? 0),
    set: to => {
      const p = new URLSearchParams(search)
      if (to.tab) p.set('tab', to.tab)
      if (to.step === null) p.delete('step')
      else if (to.step !== undefined) p.set('step', String(to.step))
      go(`/runs/${id}?${p}`, {replace: true})
    },
  }
}

export function RunPage({id}: {id: string}) {
  const definition = useDefinition(id)
  const live = useRun(id, definition.data)
  const place = usePlace(id)
  if (definition.error) {
    return (
      <div className={styles.page}>
        <ErrorBox error={definition.error} again={() => void definition.refetch()} />
      </div>
    )
  }
  if (!live?.loaded || live.events.length === 0) return <div className={styles.page}>{<Loading what="the run" />}</div>
  const {view} = live
  const tabs = [
    {id: 'graph', label: 'Graph'},
    {id: 'timeline', label: 'Timeline'},
    {id: 'steps', label: 'Steps', count: view.steps.length},
    {id: 'log', label: 'Log'},
    {id: 'trail', label: 'Trail'},
    {id: 'context', label: 'Context'},
    {id: 'events', label: 'Events', count: live.events.length},
  ]
  const at = tabs.some(t => t.id === place.tab) ? place.tab : 'graph'
  const shared = {live, place, definition: definition.data ?? null}
  return (
    <div className={styles.page}>
      <RunHeader live={live} />
      <Tabs tabs={tabs} at={at} go={tab => place.set({tab})} label="Views of the run">
        {at === 'graph' && (
          <Suspense fallback={<Loading what="the graph" />}>
            <GraphTab {...shared} />
          </Suspense>
        )}
        {at === 'timeline' && <Timeline {...shared} />}
        {at === 'steps' && <StepsTab {...shared} />}
        {at === 'log' && <LogTab live={live} />}
        {at === 'trail' && <TrailTab live={live} />}
        {at === 'context' && <ContextTab live={live} />}
        {at === 'events' && <EventsTab live={live} />}
      </Tabs>
    </div>
  )
}
