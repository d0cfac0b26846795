// A REP or a REQ of JeroMQ, for jeromq.py: a thousand messages and their answers.
//
// Usage: JeromqPeer server|client bind|connect NULL|PLAIN|CURVE ENDPOINT
// One that binds says its endpoint; at the end each says how many messages went well.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.zeromq.SocketType;
import org.zeromq.ZAuth;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

public class JeromqPeer {
    // The pairs of zmq_curve(7).
    static final byte[] CLIENT_PUBLIC = ZMQ.Curve.z85Decode("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID");
    static final byte[] CLIENT_SECRET = ZMQ.Curve.z85Decode("D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs");
    static final byte[] SERVER_PUBLIC = ZMQ.Curve.z85Decode("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
    static final byte[] SERVER_SECRET = ZMQ.Curve.z85Decode("JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6");
    static final int MESSAGES = 1000;
    static final int PATIENCE_MS = 20000;

    static ZAuth beServer(ZContext context, ZMQ.Socket socket, String mechanism) throws Exception {
        ZAuth auth = new ZAuth(context);
        if (mechanism.equals("PLAIN")) {
            Path users = Files.createTempFile("users", ".txt");
            Files.writeString(users, "alice=secret\n");
            auth.configurePlain("*", users.toString());
            socket.setPlainServer(true);
            socket.setZAPDomain("global");
        } else if (mechanism.equals("CURVE")) {
            auth.configureCurve(ZAuth.CURVE_ALLOW_ANY);
            socket.setCurveServer(true);
            socket.setCurvePublicKey(SERVER_PUBLIC);
            socket.setCurveSecretKey(SERVER_SECRET);
            socket.setZAPDomain("global");
        }
        return auth;
    }

    static void beClient(ZMQ.Socket socket, String mechanism) {
        if (mechanism.equals("PLAIN")) {
            socket.setPlainUsername("alice");
            socket.setPlainPassword("secret");
        } else if (mechanism.equals("CURVE")) {
            socket.setCurveServerKey(SERVER_PUBLIC);
            socket.setCurvePublicKey(CLIENT_PUBLIC);
            socket.setCurveSecretKey(CLIENT_SECRET);
        }
    }

    static boolean talk(ZMQ.Socket socket, boolean isServer, int number) {
        if (isServer) {
            byte[] asked = socket.recv();
            return asked != null && socket.send(asked);
        }
        byte[] body = new byte[number * 37 % 40000];
        Arrays.fill(body, (byte) number);
        return socket.send(body) && Arrays.equals(socket.recv(), body);
    }

    public static void main(String[] arguments) throws Exception {
        boolean isServer = arguments[0].equals("server");
        try (ZContext context = new ZContext()) {
            ZMQ.Socket socket = context.createSocket(isServer ? SocketType.REP : SocketType.REQ);
            socket.setReceiveTimeOut(PATIENCE_MS);
            socket.setLinger(PATIENCE_MS);
            ZAuth auth = isServer ? beServer(context, socket, arguments[2]) : null;
            if (!isServer)
                beClient(socket, arguments[2]);
            if (arguments[1].equals("bind")) {
                socket.bind("tcp://127.0.0.1:*");
                System.out.println(socket.getLastEndpoint());
            } else {
                socket.connect(arguments[3]);
            }
            int done = 0;
            while (done < MESSAGES && talk(socket, isServer, done))
                ++done;
            System.out.println(done);
            socket.close();
            if (auth != null)
                auth.close();
        }
    }
}
