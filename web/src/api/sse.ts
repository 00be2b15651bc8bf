// Message is a server-sent event.
export type Message = {id: string; event: string; data: string}

// parser returns a function that accepts chunks of an event stream and calls back with each
// complete message (https://html.spec.whatwg.org/multipage/server-sent-events.html).
export function parser(got: (m: Message) => void): (piece: string) => void {
  let rest = ''
  let id = ''
  let event = ''
  let data: string[] = []
  const line = (text: string) => {
    if (text === '') {
      if (data.length > 0) got({id, event: event || 'message', data: data.join('\n')})
      event = ''
      data = []
      return
    }
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') id = value
  }
  return piece => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const l of lines) line(l.endsWith('\r') ? l.slice(0, -1) : l)
  }
}
