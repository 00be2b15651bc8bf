import type {LiveRun} from '../live/run_source.ts'
import {ErrorBox, Loading} from '../ui/parts.tsx'

// isThere reports whether all recorded events of a run have arrived.
export const isThere = (live: LiveRun | null): live is LiveRun => live?.loaded === true && live.events.length > 0

// Awaited shows the state of runs that have not been loaded: the server rejects them, does not
// respond, or is about to respond.
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
