import type {QueryClient} from '@tanstack/react-query'
import type {Stored} from '../edit/stored.ts'

// Ending marks a workflow as deleted, or as being deleted. A page has one for its workflow.
export type Ending = {now: boolean}

const keyOf = (id: string) => ['workflows', 'one', id] as const

// storedQuery requests a stored workflow. It sends no request while the workflow is being deleted
// or after that, whichever notice reports a change of workflows.
export const storedQuery = (id: string, ending: Ending, read: (signal: AbortSignal) => Promise<Stored>) => ({
  queryKey: keyOf(id),
  queryFn: ({signal}: {signal: AbortSignal}) => read(signal),
  enabled: () => !ending.now,
})

// deleteStored deletes a workflow with remove, and stops its queries first. If remove fails, the
// workflow is requested again.
export async function deleteStored(
  queries: QueryClient,
  id: string,
  ending: Ending,
  remove: () => Promise<unknown>,
): Promise<void> {
  ending.now = true
  try {
    await queries.cancelQueries({queryKey: keyOf(id)})
    await remove()
  } catch (err) {
    ending.now = false
    void queries.invalidateQueries({queryKey: keyOf(id)})
    throw err
  }
}

// forgetStored drops the cached data of a deleted workflow, once its page is left.
export function forgetStored(queries: QueryClient, id: string): void {
  queries.removeQueries({queryKey: keyOf(id)})
  void queries.invalidateQueries({queryKey: ['workflows', 'list']})
}
