// This module is a proxy in front of a server. It can pass on the events of runs one by one, as the
// spec allows.
import {createServer, request} from 'node:http'

// meter limits how many events of each run pass: those up to a number, with the messages before
// them.
export function meter() {
  let limit = 0
  const held = new Set()
  return {
    // recorded returns the last recorded event that a stream announces, without the events that are
    // held back.
    recorded: last => String(Math.min(Number(last), limit)),
    open: to => {
      limit = to
      for (const pass of held) pass()
    },
    // hold passes on the messages of a stream. A message without a number passes with the next
    // event; the end of the stream passes after all other messages.
    hold: (from, to) => {
      let rest = ''
      const blocks = []
      let over = false
      const pass = () => {
        const last = blocks.findLastIndex(
          b => Number(/^id: ?(\d+)$/m.exec(b)?.[1] ?? Number.POSITIVE_INFINITY) <= limit,
        )
        const ready = limit === Number.POSITIVE_INFINITY ? blocks.length : last + 1
        for (const b of blocks.splice(0, ready)) to.write(`${b}\n\n`)
        if (over && blocks.length === 0) to.end()
      }
      held.add(pass)
      to.on('close', () => held.delete(pass))
      from.setEncoding('utf8')
      from.on('data', text => {
        const all = (rest + text).split('\n\n')
        rest = all.pop()
        blocks.push(...all)
        pass()
      })
      from.on('end', () => {
        over = true
        pass()
      })
    },
  }
}

// proxy serves the server at `to` under the path prefix. If strip is set, it removes the prefix
// from requests; it removes the headers in without from all responses.
export async function proxy({prefix = '', strip = false, without = [], events} = {}) {
  let target
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end(`not below ${prefix}`)
      return
    }
    const path = strip ? asked.url.slice(prefix.length) : asked.url
    const on = request(new URL(path, target), {method: asked.method, headers: asked.headers}, from => {
      for (const name of without) delete from.headers[name]
      const metered =
        events && /\/runs\/[^/]+\/events\?/.test(asked.url) && from.headers['content-type'] === 'text/event-stream'
      const {'hocket-last-event': last} = from.headers
      answer.writeHead(
        from.statusCode,
        metered && last ? {...from.headers, 'hocket-last-event': events.recorded(last)} : from.headers,
      )
      answer.flushHeaders()
      from.on('error', () => answer.destroy()) // the server is gone
      if (metered) events.hold(from, answer)
      else from.pipe(answer)
    })
    on.on('error', () => answer.destroy())
    answer.on('close', () => on.destroy())
    asked.pipe(on)
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    to: origin => {
      target = origin
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
