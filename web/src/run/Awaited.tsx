import type {LiveRun} from '../live/run_source.ts'
import {ErrorBox, Loading} from '../ui/parts.tsx'

// isThere tells whether all of a run that was recorded is there.
export const isThere = (live: LiveRun | null): live is LiveRun => live?.loaded === true && live.events.length > 0

// Awaited says of runs that are not there how that stands: the server refuses them, does not answer, or is about to.
export function Awaited({of, what}: {of: (LiveRun | null)[]; what: string}) {
  const refused = of.find(r => r?.refused)?.refused
  if (refused) return <ErrorBox error={refused} />
  return (
    <>
      <Loading what={what} />
      {of.some(r => r?.state === 'lost') && <p role="status">The connection is lost; it catches up by itself</p>}
    </>
  )
}
