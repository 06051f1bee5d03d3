//! The UDP socket of a node, and a task for each session on it.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use switchhook_media::frame::Frame;
use switchhook_runtime::panics;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::offer::OfferError;
use crate::routes::Routes;
use crate::session::{Output, Session, SessionSettings};

/// The longest packet that is read; browsers send at most 1,200 bytes.
const PACKET_LIMIT: usize = 1_500;
/// The maximum number of packets queued for a session: half a second of audio, plus other packets that arrive at once.
const PACKETS: usize = 64;
/// The maximum number of frames, marks and commands queued for a session.
const COMMANDS: usize = 256;
/// The maximum number of events queued for the owner of a call.
const EVENTS: usize = 512;
/// The pause after a socket error, which peers can cause by closing their sockets.
const SOCKET_ERROR_DELAY: Duration = Duration::from_millis(10);

/// The UDP endpoint of this node for browsers.
pub struct Node {
    shared: Arc<Shared>,
    receiver: JoinHandle<()>,
}

struct Shared {
    socket: UdpSocket,
    settings: SessionSettings,
    routes: RwLock<Routes<mpsc::Sender<Packet>>>,
    next: AtomicU64,
}

struct Packet {
    source: SocketAddr,
    bytes: Box<[u8]>,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Audio flows: the person's can be requested and the agent's can be played.
    Connected,
    /// 20 ms of the person's audio.
    Audio(Frame),
    /// Everything before this mark has been played.
    Mark(u64),
    /// UDP no longer works. Queued audio comes back, in real time, until the session has ended.
    Failed,
    /// 20 ms of the agent's audio to send over another transport.
    Unsent(Frame),
    /// A mark after that audio.
    UnsentMark(u64),
}

enum Command {
    Play(Frame),
    Mark(u64),
    Clear,
    Listen,
    Stop,
}

/// The owner's handle to a session. Dropping it ends the session.
pub struct Call {
    commands: mpsc::Sender<Command>,
    events: mpsc::Receiver<Event>,
}

impl Node {
    /// Listens on this address and directs browsers to the `public` addresses, on the listening port where an address has none. Without any, browsers
    /// use the listening address.
    ///
    /// # Errors
    /// Fails if the address is in use, or if there is no address to offer.
    pub async fn bind(listen: SocketAddr, public: &[(IpAddr, Option<u16>)]) -> std::io::Result<Self> {
        let socket = UdpSocket::bind(listen).await?;
        let local = socket.local_addr()?;
        let mut addresses: Vec<SocketAddr> =
            public.iter().map(|(ip, port)| SocketAddr::new(*ip, port.unwrap_or(local.port()))).collect();
        if addresses.is_empty() {
            addresses.push(local);
        }
        let settings = SessionSettings::new(addresses).map_err(std::io::Error::other)?;
        let (routes, next) = (RwLock::default(), AtomicU64::new(1));
        let shared = Arc::new(Shared { socket, settings, routes, next });
        let receiver = tokio::spawn(receive(shared.clone()));
        Ok(Self { shared, receiver })
    }

    /// Returns the listening address.
    ///
    /// # Errors
    /// Fails if the operating system does not report it.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.shared.socket.local_addr()
    }

    #[cfg(test)]
    pub(crate) fn routes(&self) -> (usize, usize) {
        self.shared.routes.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Answers an offer and starts the session. Returns its handle and the answer.
    ///
    /// # Errors
    /// Fails if the offer cannot be answered.
    pub fn answer(&self, offer: &str) -> Result<(Call, String), OfferError> {
        let now = Instant::now().into_std();
        let (session, answer) = panics::caught_now(|| Session::answer(&self.shared.settings, offer, now))
            .unwrap_or(Err(OfferError::Malformed))?;
        let (inbox, packets) = mpsc::channel(PACKETS);
        let (commands, orders) = mpsc::channel(COMMANDS);
        let (happens, events) = mpsc::channel(EVENTS);
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.change(|routes| routes.add(id, session.name().to_owned(), inbox));
        let task = Task { id, shared: self.shared.clone(), session: Box::new(session), happens, outputs: Vec::new() };
        tokio::spawn(async move {
            // A panic affects only this call, which continues over its websocket.
            let _ = panics::caught(task.run(packets, orders)).await;
        });
        Ok((Call { commands, events }, answer))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.receiver.abort();
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Routes<mpsc::Sender<Packet>>)) {
        // The map is consistent after every step, so poisoning can be ignored.
        change(&mut self.routes.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends a packet, unless the socket is busy: late audio is worthless.
    fn send(&self, to: SocketAddr, packet: &[u8]) {
        let is_v6 = self.socket.local_addr().is_ok_and(|local| local.is_ipv6());
        let to = match to.ip() {
            IpAddr::V4(ip) if is_v6 => SocketAddr::new(ip.to_ipv6_mapped().into(), to.port()),
            _ => to,
        };
        // The protocols above UDP handle lost packets.
        let _ = self.socket.try_send_to(packet, to);
    }
}

/// Passes each packet to its session and drops all others, without allocating or logging for them.
async fn receive(shared: Arc<Shared>) {
    let mut buffer = [0; PACKET_LIMIT];
    loop {
        let (length, source) = match shared.socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(_) => {
                tokio::time::sleep(SOCKET_ERROR_DELAY).await;
                continue;
            }
        };
        let source = canonical(source);
        let packet = &buffer[..length];
        let inbox = {
            let routes = shared.routes.read().unwrap_or_else(PoisonError::into_inner);
            let Some(inbox) = routes.find(source, packet) else { continue };
            inbox.clone()
        };
        // A session that cannot keep up loses packets, as on any network.
        if let Ok(room) = inbox.try_reserve() {
            room.send(Packet { source, bytes: packet.into() });
        }
    }
}

/// Converts a mapped address to IPv4, if the socket accepts both families.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// A session running on its node.
struct Task {
    id: u64,
    shared: Arc<Shared>,
    session: Box<Session>,
    happens: mpsc::Sender<Event>,
    outputs: Vec<Output>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.shared.change(|routes| routes.remove(self.id));
    }
}

impl Task {
    async fn run(mut self, mut packets: mpsc::Receiver<Packet>, mut orders: mpsc::Receiver<Command>) {
        while !self.session.has_ended() {
            let wakes_at = Instant::from_std(self.session.wakes_at());
            let now = || Instant::now().into_std();
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.obey(order),
                    // The call was dropped.
                    None => {
                        self.session.clear();
                        self.session.stop(now(), &mut self.outputs);
                    }
                },
                packet = packets.recv() => {
                    let Some(packet) = packet else { return };
                    self.session.receive(now(), packet.source, &packet.bytes, &mut self.outputs);
                }
                () = tokio::time::sleep_until(wakes_at) => self.session.wake(now(), &mut self.outputs),
            }
            self.give();
            if self.happens.is_closed() {
                return;
            }
        }
        // Audio queued while the session ended goes to another transport.
        orders.close();
        while let Some(order) = orders.recv().await {
            match order {
                Command::Play(frame) => self.send(Event::Unsent(frame)),
                Command::Mark(mark) => self.send(Event::UnsentMark(mark)),
                Command::Clear | Command::Listen | Command::Stop => {}
            }
        }
    }

    fn obey(&mut self, order: Command) {
        match order {
            Command::Play(frame) => self.session.play(frame),
            Command::Mark(mark) => self.session.mark(mark),
            Command::Clear => self.session.clear(),
            Command::Listen => self.session.listen(),
            Command::Stop => self.session.stop(Instant::now().into_std(), &mut self.outputs),
        }
    }

    fn give(&mut self) {
        for output in std::mem::take(&mut self.outputs) {
            match output {
                Output::Transmit(to, packet) => self.shared.send(to, &packet),
                Output::Source(source) => self.shared.change(|routes| routes.add_source(self.id, source)),
                Output::Connected => self.send(Event::Connected),
                Output::Audio(frame) => self.send(Event::Audio(frame)),
                Output::Mark(mark) => self.send(Event::Mark(mark)),
                Output::Failed(end) => {
                    tracing::debug!(?end, "a browser's audio over UDP has ended");
                    self.send(Event::Failed);
                }
                Output::Unsent(frame) => self.send(Event::Unsent(frame)),
                Output::UnsentMark(mark) => self.send(Event::UnsentMark(mark)),
                Output::Ended => {}
            }
        }
    }

    /// Sends an event. The queue is full only if the owner of the call is stuck, and the conversation with it; then the event is dropped.
    fn send(&self, event: Event) {
        let _ = self.happens.try_send(event);
    }
}

impl Call {
    /// Returns the next event; `None` once the session has ended. Cancel safe.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Queues 20 ms of the agent's audio. Returns whether the session accepts it; it does not once it has ended.
    #[must_use]
    pub fn play(&self, frame: Frame) -> bool {
        self.order(Command::Play(frame))
    }

    /// Queues a mark after the audio so far. Returns the same as [`Call::play`].
    #[must_use]
    pub fn mark(&self, mark: u64) -> bool {
        self.order(Command::Mark(mark))
    }

    /// Drops audio that has not been played.
    pub fn clear(&self) {
        self.order(Command::Clear);
    }

    /// Requests the person's audio.
    pub fn listen(&self) {
        self.order(Command::Listen);
    }

    /// Ends the session; unplayed audio comes back.
    pub fn stop(&self) {
        self.order(Command::Stop);
    }

    /// Sends a command. The queue is full only if the session is stuck because it has lost its network; then the command is dropped, since the audio
    /// would be late.
    fn order(&self, order: Command) -> bool {
        !matches!(self.commands.try_send(order), Err(mpsc::error::TrySendError::Closed(_)))
    }
}
