//! A socket of the `omq-tokio` crate for wire.py, which tells the arguments.
use omq_tokio::{CurveKeypair, CurvePublicKey, CurveSecretKey, Message, Options, Socket, SocketType};
use std::error::Error;
use std::io::Read;

const MESSAGES: usize = 1000;
// The pairs of zmq_curve(7).
const CLIENT: [&str; 2] = ["Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"];
const SERVER: [&str; 2] = ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn body(number: usize) -> Vec<u8> {
    vec![number as u8; 1 + number * 41 % 40000]
}

fn is_right(message: &Message, number: usize) -> bool {
    message.len() == 1 && message.part_bytes(0).unwrap()[..] == body(number)[..]
}

fn pair(of: [&str; 2]) -> Outcome<CurveKeypair> {
    Ok(CurveKeypair { public: CurvePublicKey::from_z85(of[0])?, secret: CurveSecretKey::from_z85(of[1])? })
}

fn options(mechanism: &str, binds: bool) -> Outcome<Options> {
    Ok(match (mechanism, binds) {
        ("CURVE", true) => Options::default().curve_server(pair(SERVER)?),
        ("CURVE", false) => Options::default().curve_client(pair(CLIENT)?, pair(SERVER)?.public),
        _ => Options::default(),
    })
}

/// The part of a role in one message, and whether it went well.
async fn step(socket: &Socket, role: &str, number: usize) -> Outcome<bool> {
    if role == "push" || role == "req" {
        socket.send(Message::single(body(number))).await?;
        if role == "push" {
            return Ok(true);
        }
    }
    let message = socket.recv().await?;
    let right = is_right(&message, number);
    if role == "rep" {
        socket.send(message).await?;
    }
    Ok(right)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let given: Vec<String> = std::env::args().collect();
    let (role, how, mechanism, endpoint) = (given[1].as_str(), given[2].as_str(), given[3].as_str(), given[4].as_str());
    let kind = match role {
        "push" => SocketType::Push,
        "pull" => SocketType::Pull,
        "req" => SocketType::Req,
        _ => SocketType::Rep,
    };
    let socket = Socket::new(kind, options(mechanism, how == "bind")?);
    if how == "bind" {
        println!("{}", socket.bind(endpoint).await?);
    } else {
        socket.connect(endpoint).await?;
    }
    let mut done = 0;
    while done < MESSAGES && step(&socket, role, done).await? {
        done += 1;
    }
    println!("{done}");
    tokio::task::block_in_place(|| std::io::stdin().read_to_end(&mut Vec::new()))?;
    Ok(())
}
