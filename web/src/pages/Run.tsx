import {lazy, Suspense, useMemo} from 'react'
import {useRun} from '../live/use_run.ts'
import {ContextTab, TrailTab} from '../run/Answers.tsx'
import {Awaited, isThere} from '../run/Awaited.tsx'
import {ConversationTab} from '../run/ConversationTab.tsx'
import {useDefinition} from '../run/definition.ts'
import {EventsTab} from '../run/EventsTab.tsx'
import {LogTab} from '../run/LogTab.tsx'
import {Past} from '../run/past.ts'
import {usePlace} from '../run/place.ts'
import {RunHeader} from '../run/RunHeader.tsx'
import {Scrubber} from '../run/Scrubber.tsx'
import {Search} from '../run/Search.tsx'
import {StepsTab} from '../run/StepsTab.tsx'
import {Timeline} from '../run/Timeline.tsx'
import {ErrorBox, Loading} from '../ui/parts.tsx'
import {Tabs} from '../ui/Tabs.tsx'
import styles from './Run.module.css'

const GraphTab = lazy(() => import('../run/GraphTab.tsx'))

export function RunPage({id}: {id: string}) {
  const definition = useDefinition(id)
  const now = useRun(id, definition.data)
  const place = usePlace(id)
  const past = useMemo(() => new Past(id, definition.data ?? null), [id, definition.data])
  const live = useMemo(() => now && past.of(now, place.at), [now, past, place.at])
  if (definition.error) {
    return (
      <div className={styles.page}>
        <ErrorBox error={definition.error} again={() => void definition.refetch()} />
      </div>
    )
  }
  if (!live || !isThere(now)) {
    return (
      <div className={styles.page}>
        <Awaited of={[now]} what="the run" />
      </div>
    )
  }
  const {view} = live
  const tabs = [
    {id: 'graph', label: 'Graph'},
    {id: 'timeline', label: 'Timeline'},
    {id: 'steps', label: 'Steps', count: view.steps.length},
    {id: 'conversation', label: 'Conversation'},
    {id: 'log', label: 'Log'},
    {id: 'trail', label: 'Trail'},
    {id: 'context', label: 'Context'},
    {id: 'events', label: 'Events', count: live.events.length},
  ]
  const at = tabs.some(t => t.id === place.tab) ? place.tab : 'graph'
  const shared = {live, place, definition: definition.data ?? null}
  return (
    <div className={styles.page}>
      {now.refused && <ErrorBox error={now.refused} />}
      <RunHeader live={live} now={now.view} />
      <div className={styles.tools}>
        <Scrubber live={now} place={place} />
        <Search live={live} place={place} />
      </div>
      <Tabs tabs={tabs} at={at} go={tab => place.set({tab})} label="Views of the run">
        {at === 'graph' && (
          <Suspense fallback={<Loading what="the graph" />}>
            <GraphTab {...shared} />
          </Suspense>
        )}
        {at === 'timeline' && <Timeline {...shared} />}
        {at === 'steps' && <StepsTab {...shared} />}
        {at === 'conversation' && <ConversationTab {...shared} />}
        {at === 'log' && <LogTab live={live} />}
        {at === 'trail' && <TrailTab live={live} />}
        {at === 'context' && <ContextTab live={live} />}
        {at === 'events' && <EventsTab live={live} />}
      </Tabs>
    </div>
  )
}
